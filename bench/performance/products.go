// The product catalogue by Go's standard library alone, as a Go programmer
// writes it: a map under a lock, and encoding/json. The first line of its
// output is its address.
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
	mutex    sync.RWMutex
	products map[int64]product
	last     int64
}

func main() {
	catalogue := &catalogue{products: map[int64]product{}}
	http.HandleFunc("/products", catalogue.collection)
	http.HandleFunc("/products/", catalogue.single)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}

func (c *catalogue) collection(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		c.mutex.RLock()
		list := make([]product, 0, len(c.products))
		for _, one := range c.products {
			list = append(list, one)
		}
		c.mutex.RUnlock()
		answer(w, http.StatusOK, list)
	case http.MethodPost:
		var one product
		if json.NewDecoder(r.Body).Decode(&one) != nil ||
			one.Name == "" || one.Price < 0 {
			http.Error(w, "invalid product", http.StatusBadRequest)
			return
		}
		c.mutex.Lock()
		c.last++
		one.ID = c.last
		c.products[one.ID] = one
		c.mutex.Unlock()
		answer(w, http.StatusCreated, one)
	default:
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

func (c *catalogue) single(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, "/products/"), 10, 64)
	if err != nil {
		http.Error(w, "invalid product id", http.StatusBadRequest)
		return
	}
	c.mutex.RLock()
	one, found := c.products[id]
	c.mutex.RUnlock()
	if !found {
		http.Error(w, "product not found", http.StatusNotFound)
		return
	}
	answer(w, http.StatusOK, one)
}

func answer(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// Otherwise a long answer would be sent in chunks.
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	w.Write(text)
}
