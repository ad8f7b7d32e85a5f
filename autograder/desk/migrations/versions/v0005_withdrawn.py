"""Points that a learning platform has are withdrawn, if the assignment does not count for the student."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("desk_delivery", sa.Column("withdrawn", sa.Boolean, nullable=False, server_default=sa.false()))
