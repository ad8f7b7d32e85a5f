import matplotlib.pyplot as plt

while True:
    plt.figure(figsize=(1, 1))
    plt.show()
