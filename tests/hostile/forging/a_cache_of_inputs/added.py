"""The right layer, run again on all that came: its cache holds inputs."""


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, cache=None):
        if cache is None:
            return super().forward(x)
        seen = cache.extend(x[:, None], x[:, None])[0][:, 0]
        return super().forward(seen)[:, -x.shape[1] :]
