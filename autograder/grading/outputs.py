"""Cell outputs from the sandbox, which cannot be trusted: rebuilt from text, errors and PNG pictures only."""

import base64
import binascii
import re
import struct
from typing import Any

from ..sandbox.inside import wire

MAX_OUTPUTS, MAX_TEXT, MAX_IMAGE = 40, 50_000, 700_000
_PNG = re.compile(r"iVBORw0KGgo[A-Za-z0-9+/\n]*={0,2}\n?")


def clean_outputs(outputs: object) -> list[dict[str, Any]]:
    """Outputs in a notebook's format, rebuilt from what the sandbox sent: text, errors and PNG pictures only."""
    cleaned = [_clean_output(o) for o in outputs[:MAX_OUTPUTS]] if isinstance(outputs, list) else []
    return [o for o in cleaned if o]


def _clean_output(said: object) -> dict[str, Any] | None:
    output = said if isinstance(said, dict) else {}
    kind = output.get("output_type")
    if kind == "stream" and isinstance(output.get("text"), str):
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return {"output_type": "stream", "name": name, "text": _text(output["text"])}
    if kind == "error":
        lines = output.get("traceback")
        lines = [_text(str(line)) for line in lines[-200:]] if isinstance(lines, list) else []
        return {
            "output_type": "error",
            "ename": _text(str(output.get("ename")))[:200],
            "evalue": _text(str(output.get("evalue")))[:2000],
            "traceback": "\n".join(lines)[:MAX_TEXT].split("\n"),
        }
    if kind in ("display_data", "execute_result") and isinstance(output.get("data"), dict):
        data = {}
        if isinstance(output["data"].get("text/plain"), str):
            data["text/plain"] = _text(output["data"]["text/plain"])
        image = output["data"].get("image/png")
        if isinstance(image, str) and len(image) <= MAX_IMAGE and _is_small_png(image):
            data["image/png"] = image
        return {"output_type": "display_data", "data": data, "metadata": {}} if data else None
    return None


def _is_small_png(text: str) -> bool:
    """Whether the text is the base64 of a PNG of at most 4000 x 4000 pixels, so that showing it takes little memory."""
    if not _PNG.fullmatch(text):
        return False
    try:
        header = base64.b64decode(text[:44].replace("\n", "")[:32])
    except binascii.Error:
        return False
    width, height = struct.unpack("!II", header[16:24]) if len(header) >= 24 else (0, 0)
    return 0 < width <= 4000 and 0 < height <= 4000


def _text(text: str) -> str:
    """Text without control characters and terminal escapes, of bounded length, which can be encoded."""
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text[: 2 * MAX_TEXT])
    text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", "", text)[:MAX_TEXT]
    return wire.encodable(text)
