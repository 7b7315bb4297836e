"""Work that depends on other work, done without recursion."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from typing import Any, NoReturn, TypeVar

K = TypeVar("K", bound=Hashable)

# A task yields the key of each result it needs, is sent that, and returns its own.
Task = Generator[K, Any, Any]


def run(
    wanted: K,
    start: Callable[[K], Task[K]],
    *,
    results: dict[K, Any],
    on_cycle: Callable[[list[K]], NoReturn],
) -> Any:
    """The result of one task, and on the way those of all that it needs.

    Args:
      wanted: The key of the task.
      start: Starts the task of a key.
      results: Finished results; new ones are added.
      on_cycle: Called with the keys of a circle of tasks that need each other, the
        first one not repeated at the end. Must raise.
    """
    if wanted in results:
        return results[wanted]
    stack = [(wanted, start(wanted))]
    is_open = {wanted}
    answer: Any = None
    while stack:
        key, task = stack[-1]
        try:
            needed = task.send(answer)
        except StopIteration as end:
            stack.pop()
            is_open.discard(key)
            answer = results[key] = end.value
            continue
        if needed in results:
            answer = results[needed]
        elif needed in is_open:
            chain = [open_key for open_key, _ in stack]
            on_cycle(chain[chain.index(needed) :])
        else:
            stack.append((needed, start(needed)))
            is_open.add(needed)
            answer = None
    return answer
