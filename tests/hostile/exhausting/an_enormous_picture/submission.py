import matplotlib.pyplot as plt

plt.figure(figsize=(300, 300), dpi=100)
plt.plot([1, 2])
plt.show()
print('drawn')
