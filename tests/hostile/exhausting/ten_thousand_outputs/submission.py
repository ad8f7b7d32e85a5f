from IPython.display import display

for number in range(10000):
    display(number)
print('done')
