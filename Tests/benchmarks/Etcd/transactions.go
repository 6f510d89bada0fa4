// Transactions one by one with etcd's own client, as a baseline: two comparisons and two puts each, as a store makes them because of its
// token, while the client watches the keys.
//
// usage: transactions ENDPOINT KEY
//
// For each line of standard input with a count, it makes so many and prints the nanoseconds that they took, or why they have failed.
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
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[1]}, DialTimeout: 5 * time.Second})
	check(err)
	key := os.Args[2]
	ctx := context.Background()
	token := key + ".token"
	events := client.Watch(ctx, key, clientv3.WithPrefix())
	go func() {
		for range events {
		}
	}()
	var revisions []int64
	for _, key := range []string{key, token} {
		put, err := client.Put(ctx, key, "0")
		check(err)
		revisions = append(revisions, put.Header.Revision)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		count, err := strconv.Atoi(lines.Text())
		check(err)
		start := time.Now()
		for i := 0; i < count; i++ {
			value := strconv.Itoa(i)
			answer, err := client.Txn(ctx).
				If(clientv3.Compare(clientv3.ModRevision(key), "=", revisions[0]),
					clientv3.Compare(clientv3.ModRevision(token), "=", revisions[1])).
				Then(clientv3.OpPut(key, value), clientv3.OpPut(token, value)).Commit()
			check(err)
			if !answer.Succeeded {
				check(fmt.Errorf("somebody else writes %s", key))
			}
			revisions = []int64{answer.Header.Revision, answer.Header.Revision}
		}
		fmt.Println(time.Since(start).Nanoseconds())
	}
}
