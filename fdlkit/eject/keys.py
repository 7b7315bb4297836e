"""Key paths: where a loss, a metric or the model finds its input."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fdlkit.errors import UserError


def get_key(context: Mapping[str, Any], key: str, *, wanted_by: str) -> Any:
    """The value at a key path: `batch.tokens`, `preds.aux[0]`, `preds['a b']`.

    Raises:
      UserError: It leads nowhere; `wanted_by` says who asked.
    """
    value: Any = context
    parts = re.findall(r"([A-Za-z_]\w*)|\[(-?\d+)\]|\['([^']*)'\]", key)
    try:
        for name, index, quoted in parts:
            if index:
                value = value[int(index)]
            elif isinstance(value, Mapping):
                value = value[name or quoted]
            else:
                value = getattr(value, name)
    except (AttributeError, LookupError) as error:
        raise UserError(f"{wanted_by}={key!r} leads nowhere: {error!r}") from error
    return value
