"""Attempts that a deadline or a kill has stopped are graded once more; what has ended lately is found quickly."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("desk_attempt", sa.Column("again", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_index("desk_attempt_again", "desk_attempt", ["again", "arrived"])
    op.create_index("desk_attempt_ended", "desk_attempt", ["ended"])
