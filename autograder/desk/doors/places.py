"""Places for questions to another service: a few at a time, so that who asks for nothing real takes none from others.

Who was known before has places of their own. All others have a few in each address; of those who wait there, the newest
comes first, and the oldest gives up: a flood keeps itself out, and not who comes after it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

AT_ONCE = 20  # questions of strangers at a time
OF_ONE = 4  # of them, from one address
KNOWN = 20  # further ones, for who was known before
WAITING = 50  # strangers who wait in one address
IN_ALL = 1000  # strangers who wait


class NoPlace(Exception):
    """Others ask, too, and there is no place now."""


class Places:
    """The places for questions. It belongs to the loop's thread."""

    def __init__(self) -> None:
        self.known = asyncio.Semaphore(KNOWN)
        self._asking: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def place(self, address: str, is_known: bool, seconds: float) -> AsyncIterator[None]:
        """A place for one question, after at most so many seconds. Raises NoPlace."""
        if is_known:
            try:
                await asyncio.wait_for(self.known.acquire(), seconds)
            except TimeoutError:
                raise NoPlace from None
            try:
                yield
            finally:
                self.known.release()
            return
        if self._is_free(address):
            self._asking[address] += 1
        else:
            await self._wait(address, seconds)
        try:
            yield
        finally:
            self._asking[address] -= 1
            if not self._asking[address]:
                del self._asking[address]
            self._hand_on()

    def _is_free(self, address: str) -> bool:
        return self._asking[address] < OF_ONE and self._asking.total() < AT_ONCE

    async def _wait(self, address: str, seconds: float) -> None:
        """Wait for a place, which is taken then."""
        waiting = self._waiting.setdefault(address, deque())
        if len(waiting) >= WAITING:
            waiting.popleft().cancel()
        elif sum(map(len, self._waiting.values())) >= IN_ALL:
            raise NoPlace
        mine = asyncio.get_running_loop().create_future()
        waiting.append(mine)
        try:
            await asyncio.wait_for(asyncio.shield(mine), seconds)
        except BaseException as end:
            if mine.done() and not mine.cancelled():  # the place came at the same moment
                self._asking[address] -= 1
                self._hand_on()
            mine.cancel()
            with_me = self._waiting.get(address)
            if with_me is not None and mine in with_me:
                with_me.remove(mine)
            if with_me is not None and not with_me:
                self._waiting.pop(address, None)
            was_given_up = isinstance(end, asyncio.CancelledError) and not _is_cancelled()
            if isinstance(end, TimeoutError) or was_given_up:
                raise NoPlace from None
            raise

    def _hand_on(self) -> None:
        """Give free places to who waits: address by address, one each, the newest first."""
        for address in sorted(self._waiting, key=lambda one: self._asking[one]):
            waiting = self._waiting[address]
            while waiting and self._is_free(address):
                following = waiting.pop()
                if not following.done():
                    self._asking[address] += 1
                    following.set_result(None)
            if not waiting:
                del self._waiting[address]
            if self._asking.total() >= AT_ONCE:
                return


def _is_cancelled() -> bool:
    """Whether the task itself is being cancelled, and not only what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
