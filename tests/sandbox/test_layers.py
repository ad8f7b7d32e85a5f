"""Each layer of the sandbox is taken away, alone and with others: what is left still holds what it should."""

import ast
import itertools
import os

import attacks
import layers
import pytest


@pytest.fixture(scope="module")
def world():
    with attacks.world() as world:
        yield world


def subsets(items):
    return [set(s) for n in range(len(items) + 1) for s in itertools.combinations(items, n)]


@pytest.mark.drawn(1, "sets of layers")
@pytest.mark.parametrize("off", layers.of_parents(), ids=lambda off: ", ".join(sorted(off)) or "nothing")
def test_one_layer_is_enough_for_what_it_holds(world, off):
    """Without the layers named, and without each choice of the others: held is what some layer left should hold."""
    expected = layers.held_by()
    with layers.Leaky(attacks.LIMITS, off) as parent:
        for more in subsets(layers.OF_CHILDREN):
            world.mend()
            child = parent.fork(more)
            source = world.fill(layers.PROBES) + "\nprint(results)"
            reply, _ = child.request({"op": "cell", "source": source, "name": "cell 1"}, seconds=60)
            child.kill()
            output = next(o for o in reply["outputs"] if o["name"] == "stdout")  # the other says what is lacking
            results = ast.literal_eval(output["text"])
            # a datagram is sent in any case: what counts is whether it comes
            results["UDP to the machine"] = "through" if "udp" in world.callers() else "held"
            wrong = {
                what: results.get(what)
                for what, holding in expected.items()
                if results.get(what) != ("held" if holding - off - more else "through")
            }
            assert not wrong, f"without {sorted(off | more)}: {wrong}"


def test_no_layer_holds_everything_alone_and_each_holds_something():
    expected = layers.held_by().values()
    for layer in layers.LAYERS:
        assert any(layer in holding for holding in expected) or (layer == "another user" and os.geteuid() != 0)
        assert not all(layer in holding for holding in expected)
