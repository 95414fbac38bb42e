// The product catalogue as a Go programmer would write it with net/http, for
// the benchmark to compare with: it creates, lists and reads as Sandpiper does.
// Its first line of output is its address.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Most bytes of a body.
const bodyBytes = 1 << 20

type product struct {
	ID    int64   `json:"id"`
	Name  string  `json:"name"`
	Price float64 `json:"price"`
}

type store struct {
	mutex    sync.RWMutex
	products map[int64]product
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	// No ServeMux, which would redirect.
	log.Fatal(http.Serve(listener, &store{products: make(map[int64]product)}))
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	isOne := strings.HasPrefix(r.URL.Path, "/products/")
	switch {
	case isOne && r.Method == http.MethodGet:
		s.read(w, strings.TrimPrefix(r.URL.Path, "/products/"))
	case r.URL.Path == "/products" && r.Method == http.MethodGet:
		s.list(w)
	case r.URL.Path == "/products" && r.Method == http.MethodPost:
		s.create(w, r)
	default:
		http.Error(w, "not found", http.StatusNotFound)
	}
}

func (s *store) read(w http.ResponseWriter, segment string) {
	id, err := strconv.ParseInt(segment, 10, 64)
	if err != nil {
		http.Error(w, "invalid product id", http.StatusBadRequest)
		return
	}
	s.mutex.RLock()
	found, exists := s.products[id]
	s.mutex.RUnlock()
	if !exists {
		http.Error(w, "product not found", http.StatusNotFound)
		return
	}
	answer(w, http.StatusOK, found)
}

func (s *store) list(w http.ResponseWriter) {
	s.mutex.RLock()
	all := make([]product, 0, len(s.products))
	for _, one := range s.products {
		all = append(all, one)
	}
	s.mutex.RUnlock()
	answer(w, http.StatusOK, all)
}

func (s *store) create(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyBytes))
	if err != nil {
		http.Error(w, "the request body is too large", http.StatusRequestEntityTooLarge)
		return
	}
	var fields product
	if json.Unmarshal(body, &fields) != nil || fields.Name == "" || fields.Price < 0 {
		http.Error(w, "invalid JSON body", http.StatusBadRequest)
		return
	}
	s.mutex.Lock()
	fields.ID = int64(len(s.products) + 1)
	s.products[fields.ID] = fields
	s.mutex.Unlock()
	answer(w, http.StatusCreated, fields)
}

func answer(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	// Else a long answer would come in chunks.
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}
