// Command peer has holdshort and Kueue run the same Jobs on the same machines of one
// plane, one after the other: 20 nodes with 8 GPUs each, of which pods that nobody
// queued hold a third, scattered by the seed; 120 Jobs of mixed shapes; and one queue
// whose quota is all GPUs. So quota says yes more often than the machines do.
//
// Both are what their users install: holdshort from its chart, with a policy of one
// queue; Kueue from the chart in its module, with one ClusterQueue and one LocalQueue,
// its webhooks, and the certificates it makes itself. Of Kueue's chart everything is
// applied but its Deployment, as the process runs here, and its visibility API. Its
// configuration is the chart's, but for the ports, that of integrations only Jobs are on,
// and waitForPodsReady with blockAdmission, which is how its users get all or nothing.
// The timeout and the backoff are scaled down to Jobs of seconds, in Kueue's favour.
//
// With -all, Kueue runs twice more: without waitForPodsReady, and with topology-aware
// scheduling at the level of nodes, which knows what pods of others hold.
//
// What came of it is counted by test/witness from the Jobs, pods and nodes alone, for
// all alike. It fails if a pod of holdshort sat unschedulable for more than 5 s, or if
// holdshort took longer than Kueue.
package main
