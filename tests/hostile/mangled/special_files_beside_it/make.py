import os

from mangling import running, write


def make(place, notebook):
    os.mkfifo(place / "pipe")
    (place / "link").symlink_to("/etc/passwd")
    (place / "folder").symlink_to("/etc")
    (place / "dangling").symlink_to(place / "nowhere")
    (place / "itself").symlink_to(place / "itself")
    for name in ("a\nb", "-rf", "..b", "%(x)s{student_id}", "x" * 255, "\u202etxt", "*.ipynb", "[a]", "\x1b[2J"):
        (place / name).write_text("beside")
    (place / "/".join(["deep"] * 60)).mkdir(parents=True)
    return write(place, running(notebook))
