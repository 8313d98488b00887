// A program that uses a cloud like users' programs do: prints its identity and the existing buckets.
import { ListBucketsCommand, S3Client } from '@aws-sdk/client-s3'
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'

const { Arn: arn } = await new STSClient({}).send(new GetCallerIdentityCommand({}))
const { Buckets = [] } = await new S3Client({ forcePathStyle: true }).send(new ListBucketsCommand({}))
console.log(JSON.stringify({ arn, buckets: Buckets.map(({ Name }) => Name) }))
