"""What attempts cost is counted, and what was best is kept in rows of its own: no page reads all attempts any more."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
AT_ONCE = 500  # attempts that are read at a time


def upgrade() -> None:
    op.add_column("desk_attempt", sa.Column("begun", sa.Double))
    op.add_column("desk_attempt", sa.Column("spent", sa.Double))
    best = op.create_table(
        "desk_best",
        sa.Column("owner", sa.String(255), primary_key=True),
        sa.Column("assignment", sa.String(255), primary_key=True),
        sa.Column("exercise", sa.String(255), primary_key=True),
        sa.Column("score", sa.Double, nullable=False),
    )
    attempt = sa.table("desk_attempt", *map(sa.column, ("id", "owner", "assignment", "told")))
    query = sa.select(attempt).where(attempt.c.told.is_not(None)).order_by(attempt.c.id).limit(AT_ONCE)
    found: dict[tuple[str, str, str], float] = {}
    after = ""
    while rows := op.get_bind().execute(query.where(attempt.c.id > after)).all():
        for row in rows:
            for one in json.loads(row.told):
                key = row.owner, row.assignment, one["exercise"]
                if one.get("score") is not None:
                    found[key] = max(one["score"], found.get(key, one["score"]))
        after = rows[-1].id
    made = [dict(zip(("owner", "assignment", "exercise"), key, strict=True), score=s) for key, s in found.items()]
    if made:
        op.bulk_insert(best, made)
