# Draws how many birds of two kinds were counted in a year.
import matplotlib.pyplot as plt

months = ["Jan", "Mar", "May", "Jul", "Sep", "Nov"]
sandpipers = [12, 30, 85, 64, 140, 22]
herons = [8, 9, 14, 15, 11, 9]

plt.plot(months, sandpipers, marker="o", label="sandpipers")
plt.plot(months, herons, marker="s", label="herons")
plt.title("Birds at the shore")
plt.ylabel("birds")
plt.legend()
plt.show()
