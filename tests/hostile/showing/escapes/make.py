from mangling import code, running, write

CODE = '''\
print("\\x1b[31m<script>alert(1)</script>\\x1b[0m\\x1b]8;;javascript:alert(1)\\x07click\\x1b]8;;\\x07\\u202e\\x9b31m")
for number in range(20_000):
    print("\\x1b[%dm\\x1b[2J\\x08" % (number % 108), end="")
'''


def make(place, notebook):
    notebook["cells"].append(code(CODE))
    return write(place, running(notebook))
