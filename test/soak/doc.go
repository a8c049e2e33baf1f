// Command soak has holdshort run 2,000 Jobs, 5,000 pods, on 500 nodes with 4 GPUs each, for
// a quarter of an hour, in ten queues whose quotas are less than what is asked for.
//
// Pods that nobody queued hold a part of the machines from the beginning. While the first
// half of the Jobs runs, nobody interferes. Then nodes are cordoned and come back,
// strangers come by the scheduler and go, and pods of Jobs are deleted.
//
// What is judged is told by test/witness, which sees Jobs, pods and nodes alone:
//
//   - nobody misses a start: whenever the quota of a Job that waits and the machines would
//     let it start, somebody starts within seconds
//   - no pod sits unschedulable for more than 5 s while nobody interferes
//   - no queue's pods ever hold more than its quota, no node's more than it has
//   - every Job completes
//   - the manager's book is never off, and at the end every Queue says that nothing is used
package main
