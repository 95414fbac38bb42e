# A turtle draws a star of stars.
import turtle

colors = ["#0550ae", "#116329", "#8f2a00", "#7a0083", "#b3001b"]

turtle.speed(9)
turtle.pensize(2)
turtle.penup()
turtle.goto(-150, 60)
turtle.pendown()
for corner in range(5):
    turtle.color(colors[corner])
    for point in range(5):
        turtle.forward(90)
        turtle.right(144)
    turtle.penup()
    turtle.forward(300)
    turtle.right(144)
    turtle.pendown()
turtle.hideturtle()
turtle.done()
