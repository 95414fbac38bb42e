// The product catalogue as a Go programmer would write it with net/http, for
// the benchmark to compare with. It answers creating, listing and reading as
// Sandpiper does; its first line of output is its address.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
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

type failure struct {
	Error string `json:"error"`
}

type store struct {
	mutex    sync.RWMutex
	products map[int64]product
	lastID   int64
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr())
	// No ServeMux, which would redirect.
	handler := &store{products: make(map[int64]product)}
	fmt.Fprintln(os.Stderr, http.Serve(listener, handler))
	os.Exit(1)
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/products/") {
		s.single(w, r, strings.TrimPrefix(r.URL.Path, "/products/"))
	} else if r.URL.Path == "/products" {
		s.collection(w, r)
	} else {
		fail(w, http.StatusNotFound, "not found")
	}
}

func (s *store) collection(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		answer(w, http.StatusOK, s.list())
	case http.MethodPost:
		s.create(w, r)
	default:
		w.Header().Set("Allow", "GET, POST")
		fail(w, http.StatusMethodNotAllowed, "method not allowed on /products")
	}
}

func (s *store) single(w http.ResponseWriter, r *http.Request, segment string) {
	id, err := strconv.ParseInt(segment, 10, 64)
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid product id")
		return
	}
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", "GET")
		fail(w, http.StatusMethodNotAllowed, "method not allowed on /products/{id}")
		return
	}
	s.mutex.RLock()
	found, exists := s.products[id]
	s.mutex.RUnlock()
	if !exists {
		fail(w, http.StatusNotFound, "product not found")
		return
	}
	answer(w, http.StatusOK, found)
}

func (s *store) list() []product {
	s.mutex.RLock()
	all := make([]product, 0, len(s.products))
	for _, one := range s.products {
		all = append(all, one)
	}
	s.mutex.RUnlock()
	return all
}

func (s *store) create(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyBytes))
	if err != nil {
		fail(w, http.StatusRequestEntityTooLarge, "the request body is too large")
		return
	}
	var fields product
	if json.Unmarshal(body, &fields) != nil {
		fail(w, http.StatusBadRequest, "invalid JSON body")
		return
	}
	if fields.Name == "" || fields.Price < 0 {
		fail(w, http.StatusBadRequest, "name is required and price must be non-negative")
		return
	}
	s.mutex.Lock()
	s.lastID++
	fields.ID = s.lastID
	s.products[fields.ID] = fields
	s.mutex.Unlock()
	answer(w, http.StatusCreated, fields)
}

func fail(w http.ResponseWriter, status int, message string) {
	answer(w, status, failure{message})
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
