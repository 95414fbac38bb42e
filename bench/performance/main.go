// A catalogue of products as Go's standard library makes it: net/http,
// encoding/json and a map under a lock. Prints its address when it listens.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

type product struct {
	ID    int64   `json:"id"`
	Name  string  `json:"name"`
	Price float64 `json:"price"`
}

type catalogue struct {
	lock     sync.RWMutex
	products map[int64]product
	order    []int64
}
