import json

from mangling import write


def make(place, notebook):
    return write(place, json.dumps(notebook).rstrip("}").encode() + b', "cells": []}')
