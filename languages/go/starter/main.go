package main

import (
	"fmt"
	"slices"
)

func main() {
	birds := []Bird{
		{"gull", 1.3},
		{"tern", 0.8},
		{"albatross", 3.2},
	}
	slices.SortFunc(birds, byWingspan)
	for _, bird := range birds {
		fmt.Println(bird)
	}
	fmt.Println(Bird{"mean", mean(birds)})
}
