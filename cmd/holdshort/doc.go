// Command holdshort is the manager: webhook, policy and ledger in one process.
package main
