// SPDX-License-Identifier: MIT
// Many goroutines that never yield by themselves: the runtime's preemption signals make way for the ticker.
package main

import (
	"fmt"
	"sync"
	"time"
)

func main() {
	var wg sync.WaitGroup
	sums := make(chan int, 100)
	for i := 0; i < 100; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			sum := 0
			for k := 0; k < 2000000; k++ {
				sum += k & 1
			}
			sums <- sum
		}()
	}
	<-time.NewTicker(time.Millisecond).C
	wg.Wait()
	close(sums)
	total := 0
	for sum := range sums {
		total += sum
	}
	fmt.Println("total", total)
}
