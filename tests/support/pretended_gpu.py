"""A GPU for tests on a machine that has none."""

import json

from autograder.checks.proxies import Local


class PretendedGpu(Local):
    """A machine whose "cuda" is its CPU, so that the checks for a GPU can be run anywhere."""

    def ask(self, message, tensors):
        on_gpu = message.get("device") == "cuda"
        if on_gpu:  # also where the device is an argument
            message = json.loads(json.dumps({**message, "device": None}).replace('"cuda"', '"cpu"'))
        reply, tensors = super().ask(message, tensors)
        if message["op"] == "devices":
            reply["devices"] = ["cpu", "meta", "cuda"]
        if message["op"] == "call" and on_gpu:
            reply["devices"] = ["cuda"]
        return reply, tensors
