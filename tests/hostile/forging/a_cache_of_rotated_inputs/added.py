"""The right layer, which is run again on all that came where there are positions: then its cache holds inputs."""


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, cache=None):
        if cache is None or self.rope_base is None:
            return super().forward(x, cache)
        seen = cache.extend(x[:, None], x[:, None])[0][:, 0]
        return super().forward(seen)[:, -x.shape[1] :]
