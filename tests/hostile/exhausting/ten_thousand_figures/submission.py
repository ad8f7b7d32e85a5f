import matplotlib.pyplot as plt

for number in range(10000):
    plt.figure(figsize=(1, 1))
    plt.show()
