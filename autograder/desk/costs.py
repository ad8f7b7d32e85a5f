"""What people and addresses cost this desk: seconds of its processor. It is asked before any work, at every route.

Who is known pays as a person, wherever they are: a class may share one address. Who is not pays by address, and only
for what was refused. `handing.py` and `record.py` count hand-ins, bytes and the workers' time.
"""

from __future__ import annotations

import asyncio
import ipaddress
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from .visitors import Refused

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

KEPT = 10_000  # people and addresses of whom it is kept what they cost
AT_WORK = 2  # requests of one person that are worked on at a time
WAITING = 6  # further ones that wait; a browser opens a few pages together
PRICE = 0.01  # seconds: more than to read and to refuse a request of somebody unknown takes

Result = TypeVar("Result")
_also = threading.local()  # seconds that another process spent for what this thread does


@dataclass(frozen=True)
class Allowance:
    """Seconds of the processor: so many at once, and so many of each second."""

    most: float
    share: float


PERSON = Allowance(30.0, 0.1)  # a page takes 0.01 to 0.05 s, a large notebook 0.6 s
ADDRESS = Allowance(30.0, 0.25)


class Costs:
    """What was spent for whom, and whose requests are at work. Any thread may ask and charge."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._full: OrderedDict[tuple[Allowance, str], float] = OrderedDict()  # when each has the whole allowance again
        self._at_work: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def require(self, allowance: Allowance, who: str) -> None:
        """Raises Refused if somebody has no more to spend now."""
        over = self._full.get((allowance, who), 0.0) - self.clock() - allowance.most / allowance.share
        if over > 0:
            raise Refused("You ask too much of the desk: try again later.", 429, over)

    def charge(self, allowance: Allowance, who: str, seconds: float) -> None:
        """Note what something cost that is over."""
        key = allowance, who
        with self._lock:
            self._full[key] = max(self._full.get(key, 0.0), self.clock()) + seconds / allowance.share
            self._full.move_to_end(key)
            if len(self._full) > KEPT:
                self._full.popitem(last=False)

    def run(self, who: str, work: Callable[..., Result], *about: object) -> Result:
        """Do something for a person, in this thread, and charge what it took."""
        begun, _also.seconds = time.thread_time(), 0.0
        try:
            return work(*about)
        finally:
            self.charge(PERSON, who, time.thread_time() - begun + _also.seconds)

    @asynccontextmanager
    async def turn(self, who: str) -> AsyncIterator[None]:
        """A person's turn: only a few of one's requests are at work, and the others go on. Raises Refused."""
        if self._at_work[who] >= AT_WORK:
            waiting = self._waiting.setdefault(who, deque())
            if len(waiting) >= WAITING:
                raise Refused("Several pages are being made for you already: open this one in a moment.", 429, 5.0)
            mine = asyncio.get_running_loop().create_future()
            waiting.append(mine)
            try:
                await mine  # whoever ends hands its place over
            except asyncio.CancelledError:
                if mine.done() and not mine.cancelled():
                    self._end(who)
                elif mine in waiting:
                    waiting.remove(mine)
                raise
        else:
            self._at_work[who] += 1
        try:
            yield
        finally:
            self._end(who)

    def _end(self, who: str) -> None:
        """Give a place to who waits, or back."""
        waiting = self._waiting.get(who)
        while waiting:
            following = waiting.popleft()
            if not following.done():
                following.set_result(None)
                return
        self._waiting.pop(who, None)
        self._at_work[who] -= 1
        if not self._at_work[who]:
            del self._at_work[who]


def also(seconds: float) -> None:
    """Say that another process spent so long for what this thread does."""
    _also.seconds = getattr(_also, "seconds", 0.0) + seconds


def address_of(request: HTTPConnection) -> str:
    """Where a request comes from: an address, or the network that one place has of IPv6."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), 64), strict=False))
