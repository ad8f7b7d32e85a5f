"""Has plain pytest run the checks, where it loads no plugins by itself (PYTEST_DISABLE_PLUGIN_AUTOLOAD)."""

import pytest

from ..grading import by_hand


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    if not pluginmanager.is_registered(by_hand):
        pluginmanager.register(by_hand)
