"""The one step of building that pyproject.toml cannot say: a wheel holds the kit's own course."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
PINNED = ("requirements", "torch-cpu", "kernels")  # lock files that those who teach with a wheel may need


class WithCourse(build_py):
    """Puts source/, nbgrader_config.py and the pinned packages where the kit looks for them, unless it is editable."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        folder = Path(self.build_lib) / "autograder" / "course_files"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(HERE / "source", folder / "source", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
        (folder / "locks").mkdir()
        for name in ("nbgrader_config.py", *(f"locks/{name}.lock" for name in PINNED)):
            shutil.copy(HERE / name, folder / name)


setup(cmdclass={"build_py": WithCourse})
