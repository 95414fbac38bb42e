package main

import (
	"cmp"
	"fmt"
)

// A Bird has wings, of a span in metres.
type Bird struct {
	Name     string
	Wingspan float64
}

func (b Bird) String() string {
	return fmt.Sprintf("%-9s %4.2f m", b.Name, b.Wingspan)
}

func byWingspan(a, b Bird) int {
	return cmp.Compare(a.Wingspan, b.Wingspan)
}

func mean(birds []Bird) float64 {
	sum := 0.0
	for _, bird := range birds {
		sum += bird.Wingspan
	}
	return sum / float64(len(birds))
}
