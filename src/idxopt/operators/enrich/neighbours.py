"""`enrich neighbours`: the titles of the previous and the next document of the same folder.

The folder of a document is its id up to the last `/`; inside it documents are ordered by id (code points), as the
corpus was when the tables were frozen. A document that was not there yet takes the place that its id gives it.
"""

from __future__ import annotations

from bisect import bisect_left

from idxopt.operators.tables import folder_order
from idxopt.operators.transform import Adding, Context, Transform
from idxopt.program.steps import Neighbours


def compile_neighbours(step: Neighbours, context: Context) -> Transform:
    """The step as a function over rows."""
    pairs = context.tables.titles.get(step.field, ())
    order = [folder_order(doc_id) for doc_id, _ in pairs]
    places = {doc_id: place for place, (doc_id, _) in enumerate(pairs)}

    def neighbours(doc_id: str) -> list[str]:
        own = folder_order(doc_id)
        place = places.get(doc_id)
        following = bisect_left(order, own) if place is None else place + 1
        place = following if place is None else place
        near = (number for number in (place - 1, following) if 0 <= number < len(order))
        return [pairs[number][1] for number in near if order[number][0] == own[0]]

    return Adding(step.into, lambda row: None if row.fields.get(step.field) is None else neighbours(row.doc_id))
