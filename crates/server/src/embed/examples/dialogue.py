# Guesses the number that you think of.
print("Think of a number from 1 to 100.")
low, high = 1, 100
guesses = 0

while low < high:
    guess = (low + high) // 2
    guesses += 1
    answer = input(f"Is it more than {guess}? (y/n) ")
    if answer.strip().lower().startswith("y"):
        low = guess + 1
    else:
        high = guess

print(f"You thought of {low}. I asked {guesses} times.")
