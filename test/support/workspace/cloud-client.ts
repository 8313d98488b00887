// A program that uses a cloud as programs of users do: prints who it is there, and which buckets there are.
import { ListBucketsCommand, S3Client } from '@aws-sdk/client-s3'
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'

const { Arn: arn } = await new STSClient({}).send(new GetCallerIdentityCommand({}))
const { Buckets = [] } = await new S3Client({ forcePathStyle: true }).send(new ListBucketsCommand({}))
console.log(JSON.stringify({ arn, buckets: Buckets.map(({ Name }) => Name) }))
