import os

for name in ("a", "a/b", "a/b/c"):
    os.mkdir(name)
open("a/b/c/file", "w").close()
os.umask(0o777)
os.mkdir("a/b/shut")
os.symlink("/", "a/b/link")
print("shut:", oct(os.stat("a/b/shut").st_mode)[-3:])
