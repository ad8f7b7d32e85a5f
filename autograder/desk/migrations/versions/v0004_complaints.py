"""Students say at an exercise why its grade is wrong, and are answered."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "desk_complaint",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("attempt", sa.String(32), sa.ForeignKey("desk_attempt.id"), nullable=False),
        sa.Column("owner", sa.String(255), nullable=False),
        sa.Column("exercise", sa.String(255), nullable=False),
        sa.Column("made", sa.Double, nullable=False),
        sa.Column("says", sa.Text, nullable=False),
        sa.Column("answered", sa.Double),
        sa.Column("answer", sa.Text),
        sa.Column("points", sa.Double),
        sa.UniqueConstraint("attempt", "exercise", name="desk_complaint_is_one"),
    )
    op.create_index("ix_desk_complaint_owner", "desk_complaint", ["owner"])
    op.create_index("ix_desk_complaint_answered", "desk_complaint", ["answered"])
