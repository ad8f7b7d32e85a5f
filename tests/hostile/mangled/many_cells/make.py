from mangling import write


def make(place, notebook):
    return write(place, {**notebook, "cells": [{"cell_type": "code", "source": "x = 1", "metadata": {}}] * 100_000})
