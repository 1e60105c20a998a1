// Generated from schema/ by src/wire/generate-schema.ts. Do not edit: change the schema and generate again.

import * as flatbuffers from 'flatbuffers';

export class TextEntry {
  bb: flatbuffers.ByteBuffer|null = null;
  bb_pos = 0;
  __init(i:number, bb:flatbuffers.ByteBuffer):TextEntry {
  this.bb_pos = i;
  this.bb = bb;
  return this;
}

static getRootAsTextEntry(bb:flatbuffers.ByteBuffer, obj?:TextEntry):TextEntry {
  return (obj || new TextEntry()).__init(bb.readInt32(bb.position()) + bb.position(), bb);
}

static getSizePrefixedRootAsTextEntry(bb:flatbuffers.ByteBuffer, obj?:TextEntry):TextEntry {
  bb.setPosition(bb.position() + flatbuffers.SIZE_PREFIX_LENGTH);
  return (obj || new TextEntry()).__init(bb.readInt32(bb.position()) + bb.position(), bb);
}

key():string|null
key(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
key(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 4);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

value():string|null
value(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
value(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 6);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

static startTextEntry(builder:flatbuffers.Builder) {
  builder.startObject(2);
}

static addKey(builder:flatbuffers.Builder, keyOffset:flatbuffers.Offset) {
  builder.addFieldOffset(0, keyOffset, 0);
}

static addValue(builder:flatbuffers.Builder, valueOffset:flatbuffers.Offset) {
  builder.addFieldOffset(1, valueOffset, 0);
}

static endTextEntry(builder:flatbuffers.Builder):flatbuffers.Offset {
  const offset = builder.endObject();
  return offset;
}

static createTextEntry(builder:flatbuffers.Builder, keyOffset:flatbuffers.Offset, valueOffset:flatbuffers.Offset):flatbuffers.Offset {
  TextEntry.startTextEntry(builder);
  TextEntry.addKey(builder, keyOffset);
  TextEntry.addValue(builder, valueOffset);
  return TextEntry.endTextEntry(builder);
}
}

export class CallRecord {
  bb: flatbuffers.ByteBuffer|null = null;
  bb_pos = 0;
  __init(i:number, bb:flatbuffers.ByteBuffer):CallRecord {
  this.bb_pos = i;
  this.bb = bb;
  return this;
}

static getRootAsCallRecord(bb:flatbuffers.ByteBuffer, obj?:CallRecord):CallRecord {
  return (obj || new CallRecord()).__init(bb.readInt32(bb.position()) + bb.position(), bb);
}

static getSizePrefixedRootAsCallRecord(bb:flatbuffers.ByteBuffer, obj?:CallRecord):CallRecord {
  bb.setPosition(bb.position() + flatbuffers.SIZE_PREFIX_LENGTH);
  return (obj || new CallRecord()).__init(bb.readInt32(bb.position()) + bb.position(), bb);
}

call():number {
  const offset = this.bb!.__offset(this.bb_pos, 4);
  return offset ? this.bb!.readUint32(this.bb_pos + offset) : 0;
}

kind():number {
  const offset = this.bb!.__offset(this.bb_pos, 6);
  return offset ? this.bb!.readUint8(this.bb_pos + offset) : 0;
}

provider():number {
  const offset = this.bb!.__offset(this.bb_pos, 8);
  return offset ? this.bb!.readUint8(this.bb_pos + offset) : 0;
}

machineId():string|null
machineId(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
machineId(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 10);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

deadlineUnixMs():number {
  const offset = this.bb!.__offset(this.bb_pos, 12);
  return offset ? this.bb!.readFloat64(this.bb_pos + offset) : 0.0;
}

graceSeconds():number {
  const offset = this.bb!.__offset(this.bb_pos, 14);
  return offset ? this.bb!.readFloat64(this.bb_pos + offset) : 0.0;
}

clusterId():string|null
clusterId(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
clusterId(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 16);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

bootstrapBlob(index: number):number|null {
  const offset = this.bb!.__offset(this.bb_pos, 18);
  return offset ? this.bb!.readUint8(this.bb!.__vector(this.bb_pos + offset) + index) : 0;
}

bootstrapBlobLength():number {
  const offset = this.bb!.__offset(this.bb_pos, 18);
  return offset ? this.bb!.__vector_len(this.bb_pos + offset) : 0;
}

bootstrapBlobArray():Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 18);
  return offset ? new Uint8Array(this.bb!.bytes().buffer, this.bb!.bytes().byteOffset + this.bb!.__vector(this.bb_pos + offset), this.bb!.__vector_len(this.bb_pos + offset)) : null;
}

shardMetadata(index: number, obj?:TextEntry):TextEntry|null {
  const offset = this.bb!.__offset(this.bb_pos, 20);
  return offset ? (obj || new TextEntry()).__init(this.bb!.__indirect(this.bb!.__vector(this.bb_pos + offset) + index * 4), this.bb!) : null;
}

shardMetadataLength():number {
  const offset = this.bb!.__offset(this.bb_pos, 20);
  return offset ? this.bb!.__vector_len(this.bb_pos + offset) : 0;
}

stretch():number {
  const offset = this.bb!.__offset(this.bb_pos, 22);
  return offset ? this.bb!.readUint32(this.bb_pos + offset) : 0;
}

static startCallRecord(builder:flatbuffers.Builder) {
  builder.startObject(10);
}

static addCall(builder:flatbuffers.Builder, call:number) {
  builder.addFieldInt32(0, call, 0);
}

static addKind(builder:flatbuffers.Builder, kind:number) {
  builder.addFieldInt8(1, kind, 0);
}

static addProvider(builder:flatbuffers.Builder, provider:number) {
  builder.addFieldInt8(2, provider, 0);
}

static addMachineId(builder:flatbuffers.Builder, machineIdOffset:flatbuffers.Offset) {
  builder.addFieldOffset(3, machineIdOffset, 0);
}

static addDeadlineUnixMs(builder:flatbuffers.Builder, deadlineUnixMs:number) {
  builder.addFieldFloat64(4, deadlineUnixMs, 0.0);
}

static addGraceSeconds(builder:flatbuffers.Builder, graceSeconds:number) {
  builder.addFieldFloat64(5, graceSeconds, 0.0);
}

static addClusterId(builder:flatbuffers.Builder, clusterIdOffset:flatbuffers.Offset) {
  builder.addFieldOffset(6, clusterIdOffset, 0);
}

static addBootstrapBlob(builder:flatbuffers.Builder, bootstrapBlobOffset:flatbuffers.Offset) {
  builder.addFieldOffset(7, bootstrapBlobOffset, 0);
}

static createBootstrapBlobVector(builder:flatbuffers.Builder, data:number[]|Uint8Array):flatbuffers.Offset {
  builder.startVector(1, data.length, 1);
  for (let i = data.length - 1; i >= 0; i--) {
    builder.addInt8(data[i]!);
  }
  return builder.endVector();
}

static startBootstrapBlobVector(builder:flatbuffers.Builder, numElems:number) {
  builder.startVector(1, numElems, 1);
}

static addShardMetadata(builder:flatbuffers.Builder, shardMetadataOffset:flatbuffers.Offset) {
  builder.addFieldOffset(8, shardMetadataOffset, 0);
}

static createShardMetadataVector(builder:flatbuffers.Builder, data:flatbuffers.Offset[]):flatbuffers.Offset {
  builder.startVector(4, data.length, 4);
  for (let i = data.length - 1; i >= 0; i--) {
    builder.addOffset(data[i]!);
  }
  return builder.endVector();
}

static startShardMetadataVector(builder:flatbuffers.Builder, numElems:number) {
  builder.startVector(4, numElems, 4);
}

static addStretch(builder:flatbuffers.Builder, stretch:number) {
  builder.addFieldInt32(9, stretch, 0);
}

static endCallRecord(builder:flatbuffers.Builder):flatbuffers.Offset {
  const offset = builder.endObject();
  return offset;
}

static createCallRecord(builder:flatbuffers.Builder, call:number, kind:number, provider:number, machineIdOffset:flatbuffers.Offset, deadlineUnixMs:number, graceSeconds:number, clusterIdOffset:flatbuffers.Offset, bootstrapBlobOffset:flatbuffers.Offset, shardMetadataOffset:flatbuffers.Offset, stretch:number):flatbuffers.Offset {
  CallRecord.startCallRecord(builder);
  CallRecord.addCall(builder, call);
  CallRecord.addKind(builder, kind);
  CallRecord.addProvider(builder, provider);
  CallRecord.addMachineId(builder, machineIdOffset);
  CallRecord.addDeadlineUnixMs(builder, deadlineUnixMs);
  CallRecord.addGraceSeconds(builder, graceSeconds);
  CallRecord.addClusterId(builder, clusterIdOffset);
  CallRecord.addBootstrapBlob(builder, bootstrapBlobOffset);
  CallRecord.addShardMetadata(builder, shardMetadataOffset);
  CallRecord.addStretch(builder, stretch);
  return CallRecord.endCallRecord(builder);
}
}

export class CallBatch {
  bb: flatbuffers.ByteBuffer|null = null;
  bb_pos = 0;
  __init(i:number, bb:flatbuffers.ByteBuffer):CallBatch {
  this.bb_pos = i;
  this.bb = bb;
  return this;
}

static getRootAsCallBatch(bb:flatbuffers.ByteBuffer, obj?:CallBatch):CallBatch {
  return (obj || new CallBatch()).__init(bb.readInt32(bb.position()) + bb.position(), bb);
}

static getSizePrefixedRootAsCallBatch(bb:flatbuffers.ByteBuffer, obj?:CallBatch):CallBatch {
  bb.setPosition(bb.position() + flatbuffers.SIZE_PREFIX_LENGTH);
  return (obj || new CallBatch()).__init(bb.readInt32(bb.position()) + bb.position(), bb);
}

calls(index: number, obj?:CallRecord):CallRecord|null {
  const offset = this.bb!.__offset(this.bb_pos, 4);
  return offset ? (obj || new CallRecord()).__init(this.bb!.__indirect(this.bb!.__vector(this.bb_pos + offset) + index * 4), this.bb!) : null;
}

callsLength():number {
  const offset = this.bb!.__offset(this.bb_pos, 4);
  return offset ? this.bb!.__vector_len(this.bb_pos + offset) : 0;
}

static startCallBatch(builder:flatbuffers.Builder) {
  builder.startObject(1);
}

static addCalls(builder:flatbuffers.Builder, callsOffset:flatbuffers.Offset) {
  builder.addFieldOffset(0, callsOffset, 0);
}

static createCallsVector(builder:flatbuffers.Builder, data:flatbuffers.Offset[]):flatbuffers.Offset {
  builder.startVector(4, data.length, 4);
  for (let i = data.length - 1; i >= 0; i--) {
    builder.addOffset(data[i]!);
  }
  return builder.endVector();
}

static startCallsVector(builder:flatbuffers.Builder, numElems:number) {
  builder.startVector(4, numElems, 4);
}

static endCallBatch(builder:flatbuffers.Builder):flatbuffers.Offset {
  const offset = builder.endObject();
  return offset;
}

static finishCallBatchBuffer(builder:flatbuffers.Builder, offset:flatbuffers.Offset) {
  builder.finish(offset);
}

static finishSizePrefixedCallBatchBuffer(builder:flatbuffers.Builder, offset:flatbuffers.Offset) {
  builder.finish(offset, undefined, true);
}

static createCallBatch(builder:flatbuffers.Builder, callsOffset:flatbuffers.Offset):flatbuffers.Offset {
  CallBatch.startCallBatch(builder);
  CallBatch.addCalls(builder, callsOffset);
  return CallBatch.endCallBatch(builder);
}
}

export class Amount {
  bb: flatbuffers.ByteBuffer|null = null;
  bb_pos = 0;
  __init(i:number, bb:flatbuffers.ByteBuffer):Amount {
  this.bb_pos = i;
  this.bb = bb;
  return this;
}

static getRootAsAmount(bb:flatbuffers.ByteBuffer, obj?:Amount):Amount {
  return (obj || new Amount()).__init(bb.readInt32(bb.position()) + bb.position(), bb);
}

static getSizePrefixedRootAsAmount(bb:flatbuffers.ByteBuffer, obj?:Amount):Amount {
  bb.setPosition(bb.position() + flatbuffers.SIZE_PREFIX_LENGTH);
  return (obj || new Amount()).__init(bb.readInt32(bb.position()) + bb.position(), bb);
}

name():string|null
name(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
name(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 4);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

units():number {
  const offset = this.bb!.__offset(this.bb_pos, 6);
  return offset ? this.bb!.readFloat64(this.bb_pos + offset) : 0.0;
}

static startAmount(builder:flatbuffers.Builder) {
  builder.startObject(2);
}

static addName(builder:flatbuffers.Builder, nameOffset:flatbuffers.Offset) {
  builder.addFieldOffset(0, nameOffset, 0);
}

static addUnits(builder:flatbuffers.Builder, units:number) {
  builder.addFieldFloat64(1, units, 0.0);
}

static endAmount(builder:flatbuffers.Builder):flatbuffers.Offset {
  const offset = builder.endObject();
  return offset;
}

static createAmount(builder:flatbuffers.Builder, nameOffset:flatbuffers.Offset, units:number):flatbuffers.Offset {
  Amount.startAmount(builder);
  Amount.addName(builder, nameOffset);
  Amount.addUnits(builder, units);
  return Amount.endAmount(builder);
}
}

export class MachineRecord {
  bb: flatbuffers.ByteBuffer|null = null;
  bb_pos = 0;
  __init(i:number, bb:flatbuffers.ByteBuffer):MachineRecord {
  this.bb_pos = i;
  this.bb = bb;
  return this;
}

static getRootAsMachineRecord(bb:flatbuffers.ByteBuffer, obj?:MachineRecord):MachineRecord {
  return (obj || new MachineRecord()).__init(bb.readInt32(bb.position()) + bb.position(), bb);
}

static getSizePrefixedRootAsMachineRecord(bb:flatbuffers.ByteBuffer, obj?:MachineRecord):MachineRecord {
  bb.setPosition(bb.position() + flatbuffers.SIZE_PREFIX_LENGTH);
  return (obj || new MachineRecord()).__init(bb.readInt32(bb.position()) + bb.position(), bb);
}

id():string|null
id(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
id(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 4);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

state():number {
  const offset = this.bb!.__offset(this.bb_pos, 6);
  return offset ? this.bb!.readUint8(this.bb_pos + offset) : 0;
}

hasHost():boolean {
  const offset = this.bb!.__offset(this.bb_pos, 8);
  return offset ? !!this.bb!.readInt8(this.bb_pos + offset) : false;
}

hostProvider():string|null
hostProvider(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
hostProvider(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 10);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

hostRef():string|null
hostRef(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
hostRef(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 12);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

instanceType():string|null
instanceType(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
instanceType(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 14);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

zone():string|null
zone(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
zone(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 16);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

capacityType():number {
  const offset = this.bb!.__offset(this.bb_pos, 18);
  return offset ? this.bb!.readUint8(this.bb_pos + offset) : 0;
}

pricePerHourUsd():number {
  const offset = this.bb!.__offset(this.bb_pos, 20);
  return offset ? this.bb!.readFloat64(this.bb_pos + offset) : 0.0;
}

interruptionProbability():number {
  const offset = this.bb!.__offset(this.bb_pos, 22);
  return offset ? this.bb!.readFloat64(this.bb_pos + offset) : 0.0;
}

capacity(index: number, obj?:Amount):Amount|null {
  const offset = this.bb!.__offset(this.bb_pos, 24);
  return offset ? (obj || new Amount()).__init(this.bb!.__indirect(this.bb!.__vector(this.bb_pos + offset) + index * 4), this.bb!) : null;
}

capacityLength():number {
  const offset = this.bb!.__offset(this.bb_pos, 24);
  return offset ? this.bb!.__vector_len(this.bb_pos + offset) : 0;
}

labels(index: number, obj?:TextEntry):TextEntry|null {
  const offset = this.bb!.__offset(this.bb_pos, 26);
  return offset ? (obj || new TextEntry()).__init(this.bb!.__indirect(this.bb!.__vector(this.bb_pos + offset) + index * 4), this.bb!) : null;
}

labelsLength():number {
  const offset = this.bb!.__offset(this.bb_pos, 26);
  return offset ? this.bb!.__vector_len(this.bb_pos + offset) : 0;
}

cluster():string|null
cluster(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
cluster(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 28);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

hasAssignment():boolean {
  const offset = this.bb!.__offset(this.bb_pos, 30);
  return offset ? !!this.bb!.readInt8(this.bb_pos + offset) : false;
}

fingerprint():string|null
fingerprint(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
fingerprint(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 32);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

group():string|null
group(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
group(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 34);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

priority():number {
  const offset = this.bb!.__offset(this.bb_pos, 36);
  return offset ? this.bb!.readInt32(this.bb_pos + offset) : 0;
}

interruptionPenalty():number {
  const offset = this.bb!.__offset(this.bb_pos, 38);
  return offset ? this.bb!.readUint8(this.bb_pos + offset) : 0;
}

reclamationPenalty():number {
  const offset = this.bb!.__offset(this.bb_pos, 40);
  return offset ? this.bb!.readUint8(this.bb_pos + offset) : 0;
}

lastError():string|null
lastError(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
lastError(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 42);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

static startMachineRecord(builder:flatbuffers.Builder) {
  builder.startObject(20);
}

static addId(builder:flatbuffers.Builder, idOffset:flatbuffers.Offset) {
  builder.addFieldOffset(0, idOffset, 0);
}

static addState(builder:flatbuffers.Builder, state:number) {
  builder.addFieldInt8(1, state, 0);
}

static addHasHost(builder:flatbuffers.Builder, hasHost:boolean) {
  builder.addFieldInt8(2, +hasHost, +false);
}

static addHostProvider(builder:flatbuffers.Builder, hostProviderOffset:flatbuffers.Offset) {
  builder.addFieldOffset(3, hostProviderOffset, 0);
}

static addHostRef(builder:flatbuffers.Builder, hostRefOffset:flatbuffers.Offset) {
  builder.addFieldOffset(4, hostRefOffset, 0);
}

static addInstanceType(builder:flatbuffers.Builder, instanceTypeOffset:flatbuffers.Offset) {
  builder.addFieldOffset(5, instanceTypeOffset, 0);
}

static addZone(builder:flatbuffers.Builder, zoneOffset:flatbuffers.Offset) {
  builder.addFieldOffset(6, zoneOffset, 0);
}

static addCapacityType(builder:flatbuffers.Builder, capacityType:number) {
  builder.addFieldInt8(7, capacityType, 0);
}

static addPricePerHourUsd(builder:flatbuffers.Builder, pricePerHourUsd:number) {
  builder.addFieldFloat64(8, pricePerHourUsd, 0.0);
}

static addInterruptionProbability(builder:flatbuffers.Builder, interruptionProbability:number) {
  builder.addFieldFloat64(9, interruptionProbability, 0.0);
}

static addCapacity(builder:flatbuffers.Builder, capacityOffset:flatbuffers.Offset) {
  builder.addFieldOffset(10, capacityOffset, 0);
}

static createCapacityVector(builder:flatbuffers.Builder, data:flatbuffers.Offset[]):flatbuffers.Offset {
  builder.startVector(4, data.length, 4);
  for (let i = data.length - 1; i >= 0; i--) {
    builder.addOffset(data[i]!);
  }
  return builder.endVector();
}

static startCapacityVector(builder:flatbuffers.Builder, numElems:number) {
  builder.startVector(4, numElems, 4);
}

static addLabels(builder:flatbuffers.Builder, labelsOffset:flatbuffers.Offset) {
  builder.addFieldOffset(11, labelsOffset, 0);
}

static createLabelsVector(builder:flatbuffers.Builder, data:flatbuffers.Offset[]):flatbuffers.Offset {
  builder.startVector(4, data.length, 4);
  for (let i = data.length - 1; i >= 0; i--) {
    builder.addOffset(data[i]!);
  }
  return builder.endVector();
}

static startLabelsVector(builder:flatbuffers.Builder, numElems:number) {
  builder.startVector(4, numElems, 4);
}

static addCluster(builder:flatbuffers.Builder, clusterOffset:flatbuffers.Offset) {
  builder.addFieldOffset(12, clusterOffset, 0);
}

static addHasAssignment(builder:flatbuffers.Builder, hasAssignment:boolean) {
  builder.addFieldInt8(13, +hasAssignment, +false);
}

static addFingerprint(builder:flatbuffers.Builder, fingerprintOffset:flatbuffers.Offset) {
  builder.addFieldOffset(14, fingerprintOffset, 0);
}

static addGroup(builder:flatbuffers.Builder, groupOffset:flatbuffers.Offset) {
  builder.addFieldOffset(15, groupOffset, 0);
}

static addPriority(builder:flatbuffers.Builder, priority:number) {
  builder.addFieldInt32(16, priority, 0);
}

static addInterruptionPenalty(builder:flatbuffers.Builder, interruptionPenalty:number) {
  builder.addFieldInt8(17, interruptionPenalty, 0);
}

static addReclamationPenalty(builder:flatbuffers.Builder, reclamationPenalty:number) {
  builder.addFieldInt8(18, reclamationPenalty, 0);
}

static addLastError(builder:flatbuffers.Builder, lastErrorOffset:flatbuffers.Offset) {
  builder.addFieldOffset(19, lastErrorOffset, 0);
}

static endMachineRecord(builder:flatbuffers.Builder):flatbuffers.Offset {
  const offset = builder.endObject();
  return offset;
}

static createMachineRecord(builder:flatbuffers.Builder, idOffset:flatbuffers.Offset, state:number, hasHost:boolean, hostProviderOffset:flatbuffers.Offset, hostRefOffset:flatbuffers.Offset, instanceTypeOffset:flatbuffers.Offset, zoneOffset:flatbuffers.Offset, capacityType:number, pricePerHourUsd:number, interruptionProbability:number, capacityOffset:flatbuffers.Offset, labelsOffset:flatbuffers.Offset, clusterOffset:flatbuffers.Offset, hasAssignment:boolean, fingerprintOffset:flatbuffers.Offset, groupOffset:flatbuffers.Offset, priority:number, interruptionPenalty:number, reclamationPenalty:number, lastErrorOffset:flatbuffers.Offset):flatbuffers.Offset {
  MachineRecord.startMachineRecord(builder);
  MachineRecord.addId(builder, idOffset);
  MachineRecord.addState(builder, state);
  MachineRecord.addHasHost(builder, hasHost);
  MachineRecord.addHostProvider(builder, hostProviderOffset);
  MachineRecord.addHostRef(builder, hostRefOffset);
  MachineRecord.addInstanceType(builder, instanceTypeOffset);
  MachineRecord.addZone(builder, zoneOffset);
  MachineRecord.addCapacityType(builder, capacityType);
  MachineRecord.addPricePerHourUsd(builder, pricePerHourUsd);
  MachineRecord.addInterruptionProbability(builder, interruptionProbability);
  MachineRecord.addCapacity(builder, capacityOffset);
  MachineRecord.addLabels(builder, labelsOffset);
  MachineRecord.addCluster(builder, clusterOffset);
  MachineRecord.addHasAssignment(builder, hasAssignment);
  MachineRecord.addFingerprint(builder, fingerprintOffset);
  MachineRecord.addGroup(builder, groupOffset);
  MachineRecord.addPriority(builder, priority);
  MachineRecord.addInterruptionPenalty(builder, interruptionPenalty);
  MachineRecord.addReclamationPenalty(builder, reclamationPenalty);
  MachineRecord.addLastError(builder, lastErrorOffset);
  return MachineRecord.endMachineRecord(builder);
}
}

export class ResultRecord {
  bb: flatbuffers.ByteBuffer|null = null;
  bb_pos = 0;
  __init(i:number, bb:flatbuffers.ByteBuffer):ResultRecord {
  this.bb_pos = i;
  this.bb = bb;
  return this;
}

static getRootAsResultRecord(bb:flatbuffers.ByteBuffer, obj?:ResultRecord):ResultRecord {
  return (obj || new ResultRecord()).__init(bb.readInt32(bb.position()) + bb.position(), bb);
}

static getSizePrefixedRootAsResultRecord(bb:flatbuffers.ByteBuffer, obj?:ResultRecord):ResultRecord {
  bb.setPosition(bb.position() + flatbuffers.SIZE_PREFIX_LENGTH);
  return (obj || new ResultRecord()).__init(bb.readInt32(bb.position()) + bb.position(), bb);
}

call():number {
  const offset = this.bb!.__offset(this.bb_pos, 4);
  return offset ? this.bb!.readUint32(this.bb_pos + offset) : 0;
}

kind():number {
  const offset = this.bb!.__offset(this.bb_pos, 6);
  return offset ? this.bb!.readUint8(this.bb_pos + offset) : 0;
}

detail():string|null
detail(optionalEncoding:flatbuffers.Encoding):string|Uint8Array|null
detail(optionalEncoding?:any):string|Uint8Array|null {
  const offset = this.bb!.__offset(this.bb_pos, 8);
  return offset ? this.bb!.__string(this.bb_pos + offset, optionalEncoding) : null;
}

reason():number {
  const offset = this.bb!.__offset(this.bb_pos, 10);
  return offset ? this.bb!.readUint8(this.bb_pos + offset) : 0;
}

machine(obj?:MachineRecord):MachineRecord|null {
  const offset = this.bb!.__offset(this.bb_pos, 12);
  return offset ? (obj || new MachineRecord()).__init(this.bb!.__indirect(this.bb_pos + offset), this.bb!) : null;
}

static startResultRecord(builder:flatbuffers.Builder) {
  builder.startObject(5);
}

static addCall(builder:flatbuffers.Builder, call:number) {
  builder.addFieldInt32(0, call, 0);
}

static addKind(builder:flatbuffers.Builder, kind:number) {
  builder.addFieldInt8(1, kind, 0);
}

static addDetail(builder:flatbuffers.Builder, detailOffset:flatbuffers.Offset) {
  builder.addFieldOffset(2, detailOffset, 0);
}

static addReason(builder:flatbuffers.Builder, reason:number) {
  builder.addFieldInt8(3, reason, 0);
}

static addMachine(builder:flatbuffers.Builder, machineOffset:flatbuffers.Offset) {
  builder.addFieldOffset(4, machineOffset, 0);
}

static endResultRecord(builder:flatbuffers.Builder):flatbuffers.Offset {
  const offset = builder.endObject();
  return offset;
}

}

export class ResultBatch {
  bb: flatbuffers.ByteBuffer|null = null;
  bb_pos = 0;
  __init(i:number, bb:flatbuffers.ByteBuffer):ResultBatch {
  this.bb_pos = i;
  this.bb = bb;
  return this;
}

static getRootAsResultBatch(bb:flatbuffers.ByteBuffer, obj?:ResultBatch):ResultBatch {
  return (obj || new ResultBatch()).__init(bb.readInt32(bb.position()) + bb.position(), bb);
}

static getSizePrefixedRootAsResultBatch(bb:flatbuffers.ByteBuffer, obj?:ResultBatch):ResultBatch {
  bb.setPosition(bb.position() + flatbuffers.SIZE_PREFIX_LENGTH);
  return (obj || new ResultBatch()).__init(bb.readInt32(bb.position()) + bb.position(), bb);
}

results(index: number, obj?:ResultRecord):ResultRecord|null {
  const offset = this.bb!.__offset(this.bb_pos, 4);
  return offset ? (obj || new ResultRecord()).__init(this.bb!.__indirect(this.bb!.__vector(this.bb_pos + offset) + index * 4), this.bb!) : null;
}

resultsLength():number {
  const offset = this.bb!.__offset(this.bb_pos, 4);
  return offset ? this.bb!.__vector_len(this.bb_pos + offset) : 0;
}

static startResultBatch(builder:flatbuffers.Builder) {
  builder.startObject(1);
}

static addResults(builder:flatbuffers.Builder, resultsOffset:flatbuffers.Offset) {
  builder.addFieldOffset(0, resultsOffset, 0);
}

static createResultsVector(builder:flatbuffers.Builder, data:flatbuffers.Offset[]):flatbuffers.Offset {
  builder.startVector(4, data.length, 4);
  for (let i = data.length - 1; i >= 0; i--) {
    builder.addOffset(data[i]!);
  }
  return builder.endVector();
}

static startResultsVector(builder:flatbuffers.Builder, numElems:number) {
  builder.startVector(4, numElems, 4);
}

static endResultBatch(builder:flatbuffers.Builder):flatbuffers.Offset {
  const offset = builder.endObject();
  return offset;
}

static createResultBatch(builder:flatbuffers.Builder, resultsOffset:flatbuffers.Offset):flatbuffers.Offset {
  ResultBatch.startResultBatch(builder);
  ResultBatch.addResults(builder, resultsOffset);
  return ResultBatch.endResultBatch(builder);
}
}

