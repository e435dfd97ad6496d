package seal_test

import (
	"fmt"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/seal"
)

func ExampleTagMessage() {
	fmt.Print(seal.TagMessage(canonical.SumString("the lockfile"), canonical.SumString("the trust version"), "Release 3"))
	// Output:
	// Release 3
	//
	// lockfile-sha256: 67eecad80b684c11cdb7ff3f2efc8582873f18b35ddd4162e20acb1963d4c913
	// trust: d941b5877cc8e2532a8edbdab9ee3f6ba142bce7add052f487925071f8b2ca3d
}

func ExampleRequire_For() {
	r, err := seal.Require("").For(seal.OriginTag)
	fmt.Println(r, err)
	_, err = seal.Require("").For(seal.OriginBranch)
	fmt.Println(err)
	// Output:
	// tag <nil>
	// the requirement: a branch has no seal, and none was waived [require]
}
