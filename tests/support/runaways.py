"""Code that runs away when it is run: each line does it in another way. `torch` must be there."""

KINDS = {
    "recursion that doubles": "grow = lambda x: grow(torch.cat([x, x])); grow(torch.ones(2**18))",
    "100 GB": "torch.zeros(25 * 10**9)",
    "a loop in C": "sum(__import__('itertools').repeat(0))",
    "a loop in Python": "any(False for _ in iter(int, 1))",
    "a fork that sleeps": "__import__('os').fork() or __import__('time').sleep(1000)",
    "a process that sleeps": "__import__('subprocess').Popen(['sleep', '1000'])",
    "a crash": "__import__('ctypes').string_at(0)",
}
