// Command publishcheck says what an owner has to fill in before the project is
// published. It ends with status 1 while something is missing.
package main

import (
	"fmt"
	"os"

	"agentgateway-lock/internal/published"
)

func main() {
	status := 0
	for _, f := range published.Fields() {
		if problem := f.Problem(); problem != "" {
			fmt.Printf("internal/published/published.go: %s is %s: %s\n", f.Name, problem, f.Meaning)
			status = 1
		}
	}
	if status == 0 {
		fmt.Println("everything is filled in")
	}
	os.Exit(status)
}
