"""The one step of building that pyproject.toml cannot say: a wheel holds the kit's own course, and an example."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
EXAMPLE = "courses/linalg/linalg_course"  # what `autograder new course` starts from
LEFT_OUT = (".ipynb_checkpoints", "__pycache__", "release", "solutions", "gradebook.db", ".autograder")
PINNED = ("requirements", "torch-cpu", "kernels")  # lock files that those who teach with a wheel may need


class WithCourse(build_py):
    """Puts the course, the example and the pinned packages where the kit looks for them, unless it is editable."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        folder = Path(self.build_lib) / "autograder" / "course_files"
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("source", EXAMPLE):
            shutil.copytree(HERE / name, folder / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
        (folder / "locks").mkdir()
        for name in ("nbgrader_config.py", *(f"locks/{name}.lock" for name in PINNED)):
            shutil.copy(HERE / name, folder / name)


setup(cmdclass={"build_py": WithCourse})
