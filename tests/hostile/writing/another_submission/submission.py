try:
    open("@precious@", "w").write("nothing")
    print("through: written")
except OSError as error:
    print("held:", error)
