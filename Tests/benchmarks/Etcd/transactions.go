// Transactions one by one with etcd's own client, as a baseline: one comparison and one put each.
//
// usage: transactions ENDPOINT KEY
//
// For each line of standard input with a count, it makes so many and prints the nanoseconds that they took.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"go.etcd.io/etcd/clientv3"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[1]}, DialTimeout: 5 * time.Second})
	check(err)
	key := os.Args[2]
	ctx := context.Background()
	put, err := client.Put(ctx, key, "0")
	check(err)
	revision := put.Header.Revision
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		count, err := strconv.Atoi(lines.Text())
		check(err)
		start := time.Now()
		for i := 0; i < count; i++ {
			answer, err := client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", revision)).
				Then(clientv3.OpPut(key, strconv.Itoa(i))).Commit()
			check(err)
			if !answer.Succeeded {
				check(fmt.Errorf("somebody else writes %s", key))
			}
			revision = answer.Header.Revision
		}
		fmt.Println(time.Since(start).Nanoseconds())
	}
}
