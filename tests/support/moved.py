"""Says which packages of this environment have moved from what the lock files pin: `make newest` begins with it."""

import sys
from importlib import metadata
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from autograder.batch import pins  # noqa: E402  the kit of this folder, wherever it is started

LOCKS = ("requirements.lock", "cluster.lock", "desk.lock", "dev.lock", "torch-cuda.lock")
OWN = "attention-course"
WITH_ALL = {"pip", "setuptools", OWN}  # in each environment, and in no lock


def pinned(names, python):
    """The versions that a Python on Linux gets of these lock files: {package: version}."""
    environment = {**default_environment(), "python_version": python, "python_full_version": f"{python}.9"}
    found = {}
    for pin in (pin for name in names for pin in pins.read((ROOT / "locks" / name).read_text(encoding="utf-8"))):
        requirement = Requirement(pin.text.split("\\")[0])
        if requirement.marker is None or requirement.marker.evaluate(environment):
            assert pin.name not in found, f"{pin.name} twice for {python}"
            (specifier,) = requirement.specifier
            assert specifier.operator == "=="
            found[pin.name] = specifier.version
    return found


def installed():
    """The packages of this environment: {package: version}."""
    found = [(canonicalize_name(one.metadata["Name"]), one.version) for one in metadata.distributions()]
    return dict(reversed(found))  # what is found first counts: setuptools brings some in a folder of its own


def moved(before, now):
    """A line for each package with another version `now`, sorted; then for those that are new, and those that are gone.

    What follows a + in a version names a build, as that of torch for CPUs, and is no other version.
    """
    common = sorted(before.keys() & now.keys())
    changed = [name for name in common if _released(before[name]) != _released(now[name])]
    return [
        *(f"{name} {before[name]} -> {now[name]}" for name in changed),
        *(f"{name} {now[name]} is new" for name in sorted(now.keys() - before.keys())),
        *(f"{name} {before[name]} is gone" for name in sorted(before.keys() - now.keys())),
    ]


def _released(version):
    return Version(Version(version).public)


def main():
    """Print these lines for this environment."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    before, now = (
        {n: v for n, v in each.items() if n not in WITH_ALL} for each in (pinned(LOCKS, python), installed())
    )
    lines = moved(before, now)
    print(f"Python {python}, and of {len(now)} packages these have moved from the lock files:")
    print("\n".join(f"  {line}" for line in lines or ["none"]), flush=True)


if __name__ == "__main__":
    main()
