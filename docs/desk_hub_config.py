"""The part of a jupyterhub_config.py that makes the desk a service of the Hub. docs/desk_hub.md explains each line."""

import os
import sys

c = get_config()  # noqa: F821  JupyterHub defines it

COURSE = os.environ.get("COURSE", "/srv/course")  # the folder with nbgrader_config.py; students must not reach it
DESK = "access:services!service=desk"

c.JupyterHub.services = [
    {
        "name": "desk",
        "url": "http://127.0.0.1:8090",
        "command": [sys.executable, "-m", "autograder", "desk"],
        "cwd": COURSE,
        "timeout": 120,
        "oauth_no_confirm": True,
    }
]
c.JupyterHub.load_roles = [
    # who may log in: everybody with an account
    {"name": "user", "scopes": ["self", DESK]},
    # what hand_in() may do with the token that a server has anyway
    {"name": "server", "scopes": ["users:activity!user", "access:servers!server", DESK, "read:users:groups!user"]},
]
c.JupyterHub.load_groups = {"instructors": {"users": ["emmy"]}}
