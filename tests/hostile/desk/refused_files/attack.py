"""has files read and refused as often as one likes, each of which costs as much as one that is taken"""

import desks

from autograder.desk import handing

MANY = 70


def attack(place):
    read, through = [], []
    require = handing.notebook

    def counted(assignment, data):
        read.append(len(data))
        return require(assignment, data)

    handing.notebook = counted
    try:
        with desks.desk_in(place) as desk:
            ada = desks.Client(desk)
            for way in (ada.hand_in, ada.form):
                read.clear()
                for _ in range(MANY):
                    way(b'{"cells": ')
                if len(read) > handing.EVERYTHING.most:
                    through.append(f"{len(read)} of {MANY} were read")
            if desks.Client(desk, "bela").hand_in(b'{"cells": ').status_code != 422:
                through.append("another is refused, too")
    finally:
        handing.notebook = require
    return through
