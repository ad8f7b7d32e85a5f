import gc
import sys

KEYS = ("uid", "bpf", "secret", "readable", "scanned", "listable", "cpu_seconds")
found = [f"{key} in the command line" for key in KEYS if any(f'"{key}"' in word for word in sys.orig_argv)]
frame = sys._getframe()
while frame:
    for name, value in list(frame.f_locals.items()):
        held = value if isinstance(value, dict) else getattr(value, "__dict__", {})
        if type(value).__name__ in ("dict", "Lockdown") and len(set(KEYS) & set(held)) > 1:
            found.append(f"{name} in {frame.f_code.co_name}")
    frame = frame.f_back
for one in gc.get_objects():
    if type(one) is dict and "bpf" in one and "tgkill" in one and one is not globals():
        found.append("a dict of settings")
    if type(one) is set and len(one) > 5 and all(type(pair) is tuple and len(pair) == 2 for pair in list(one)[:5]):
        if all(type(number) is int and number > 255 for pair in list(one)[:5] for number in pair[1:]):
            found.append("inodes")
print("through:" if found else "held: nothing of the settings", found)
