"""How a check changes the weights of a module: as loading does, which a module may notice, and as an optimizer does."""

import torch
from torch import nn

from autograder.checks.proxies import Local, Submission


class Noticing(nn.Linear):
    """Counts how often weights were loaded; `mask` is a parameter that may be no weight."""

    def __init__(self):
        super().__init__(2, 2)
        self.loaded = 0
        self.mask = nn.Parameter(torch.ones(2, 2).tril())
        self.register_load_state_dict_post_hook(lambda module, keys: module.notice())

    def notice(self):
        self.loaded += 1


def built():
    return Submission(Local({"Noticing": Noticing})).build("Noticing")


def test_a_module_notices_that_weights_are_loaded():
    module = built()
    module.load({"weight": torch.eye(2)})
    module.load({"weight": 2 * torch.eye(2), "elsewhere": torch.ones(2)}, optional=["elsewhere"])
    assert module.attribute("loaded") == 2
    weights = module.weights()
    assert torch.equal(weights["weight"], 2 * torch.eye(2)) and not weights["bias"].any()
    assert torch.equal(weights["mask"], torch.ones(2, 2).tril())


def test_an_update_changes_what_learns_and_nobody_notices():
    module = built()
    module.load({"weight": 4 * torch.eye(2), "bias": torch.ones(2)})
    module.freeze("bias")
    module.update()
    weights = module.weights()
    assert module.attribute("loaded") == 1
    assert torch.equal(weights["weight"], 3 * torch.eye(2)) and torch.equal(weights["bias"], torch.ones(2))
    assert torch.equal(weights["mask"], torch.ones(2, 2).tril())


def test_a_quiet_call_makes_no_gradients_and_others_do():
    module, upstream = built(), torch.ones(1, 2)
    quiet = module.quiet().gradients(torch.ones(1, 2), upstream=upstream)
    assert set(quiet.parameters.values()) == {None}
    assert module.method("forward").gradients(torch.ones(1, 2), upstream=upstream).parameters["bias"] is not None
    assert module.quiet().method("forward").gradients(torch.ones(1, 2), upstream=upstream).parameters["bias"] is None
