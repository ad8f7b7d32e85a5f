import io
import json
import zipfile

from mangling import NAME, write


def make(place, notebook):
    with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
        archive.writestr(f"../{NAME}", json.dumps(notebook))
    return write(place, made.getvalue())
